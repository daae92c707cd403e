package words

import "strings"

// names are those of towns and of people, in small letters: of six letters or more, and none within
// another. None begins as a word of a mask does.
var names = strings.Fields(`
	aarhus aberdeen abernathy ackerman adelaide adriana agadir agnieszka akintola alastair albany
	alberto aldridge alesund alicante almeria amalfi amelia ancona anders andreas angelica annecy
	annika antonio antwerp appleby arezzo armitage arnhem arusha asheville ashworth athens atherton
	auckland augsburg aurelia avignon bainbridge ballarat bamberg bannerman barclay bariloche
	baumgartner bayreuth beatrice beaumont bendigo bergamo bergen bergstrom berlin bernadette
	bertram besancon bilbao birgit bologna bordeaux boulder bozeman bradshaw brannigan bratislava
	bremen brescia brighton brisbane bristol brixen brockhurst bruges buchanan budapest bukowski
	burgos caceres cairns calgary callaghan cambridge canberra cardiff caroline cartagena casablanca
	catania cavendish cecilia chadwick charlotte chartres christensen coimbra coldwell colmar
	cologne cordoba cornelius cotonou coventry cranfield crawford cremona cunningham dalgaard
	davenport debrecen delacroix devereux dinant dominic donnelly dorothea dresden drummond dublin
	dunedin durango durban eastwick edmonton edmund eindhoven eleanor emmanuel erfurt eriksen
	esbjerg essaouira estelle eugenia exeter fairbanks falmouth federico felicity fenwick ferdinand
	fernandes ferrara fitzgerald fontaine forsythe francesca frederik freiburg fremantle fukuoka
	gabriela gallagher galway gdansk geelong geneva genevieve gertrude giovanni girona goldsmith
	goslar granada gregory grenoble grimaldi groningen guillermo gwendolyn haarlem halifax halloran
	hamburg hamilton hannelore hanover harare hargreaves harriet hathaway haugesund hawthorne
	heidelberg helsinki henrietta henriksen hermione hobart holmgren honfleur huelva huntington
	hyderabad ibrahim iglesias ignacio imogen ingrid innsbruck inverness ipswich iquitos isabella
	jacqueline jaipur jakarta jankowski johanna johansen josephine kaminski kampala karlsruhe
	karlsson katarina kathleen kathmandu kaunas kelowna kensington kigali kilkenny kingston
	kirkpatrick konrad konstanz kowalski krakow kristina kumasi lahore lancaster langford lausanne
	leandro leiden leipzig leonora leuven lilongwe limerick lincoln lindqvist lisbon liverpool
	ljubljana lockwood lombardi lorenzo lucerne lucinda ludwig lugano lusaka maastricht macgregor
	madurai magdalena mahoney malcolm manchester mannheim maputo marcella marchetti margarethe
	maribor marrakesh mathieson matilda maurice mazzini mcallister melbourne mendoza mercier merida
	mildred mohammed mombasa monique montague montevideo montreal munich nagoya nairobi nakamura
	nantes naples nathalie newcastle nicolas nightingale norwich norwood nottingham nuremberg oaxaca
	obradovic octavia odense okonkwo olivetti olomouc ophelia oporto orlando osborne osnabruck
	ottawa ottilie oviedo oxford padova palermo pamplona passau patricia pemberton penelope penzance
	perugia petrovic philippa pickering poitiers portland porvoo potsdam poznan prendergast pretoria
	priscilla quebec quentin quinlan radcliffe ramirez raphael rasmussen ravenna rebecca redmond
	regensburg reinhard rennes reykjavik rijeka roanoke rosalind rosenthal roskilde rostock
	rotterdam rovinj rudolph rutherford salamanca salerno salisbury salvador salzburg samantha
	sandoval santander sapporo savannah schneider seattle sebastian segovia seraphina seville
	siegfried sigrid sinclair sintra skopje sophia sopron southampton stanhope stavanger stefania
	stralsund strasbourg stuttgart sundberg svetlana swansea sydney syracuse szeged takahashi
	tallinn tampere tarragona tatiana tavira tijuana timisoara tobias toledo toronto torquay
	toulouse tremblay trento trieste tromso trondheim tucson ulverston underwood uppsala ursula
	utrecht valencia valentina valentine valletta vandenberg vanessa varanasi vasquez verona
	veronika vicenza victoria vienna villanueva vilnius vincent virginia wainwright wakefield
	walburga warsaw waterford weatherby weimar wellington westbrook whitaker whitby wilfred
	wilhelmina winchester windhoek windsor winifred winnipeg wisniewski wolfgang worcester wroclaw
	wuppertal yamamoto yaounde yerevan yolanda yvonne zacharias zagreb zanzibar zielinski zurich
	zwolle`)

// Named reports whether a text has one of the names that are drawn.
func Named(text string) bool {
	small := strings.ToLower(text)
	for _, name := range names {
		if strings.Contains(small, name) {
			return true
		}
	}
	return false
}
